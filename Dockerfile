# Semblance in an image: `docker build --target cpu .` (the default), or `--target gpu`.
# Only what serving needs is in it. The versions are those of constraints.txt.

FROM python:3.11-slim-bookworm AS source
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY semblance semblance
COPY models models
COPY service service
COPY assets assets
COPY clients/python clients/python

# Of OpenVINO, the plugins for GPUs and NPUs of Intel, which arm64 lacks, and the readers of other formats are not used; of
# NumPy, the tests.
# `--build-arg EXTRAS=tracing,openai-tokens,milvus` adds the client of Milvus, `--build-arg ASSETS=multilingual` that model.
FROM source AS install-cpu
ARG EXTRAS=tracing,openai-tokens
ARG ASSETS=
RUN python -m venv /opt/semblance \
    && /opt/semblance/bin/python assets/fetch.py $ASSETS \
    && /opt/semblance/bin/python -m pip install --no-cache-dir --constraint constraints.txt ./assets ./clients/python ".[$EXTRAS]" \
    && /opt/semblance/bin/python -m pip uninstall --yes setuptools pip \
    && rm -f /opt/semblance/lib/python*/site-packages/openvino/libs/libopenvino_intel_[gn]pu_plugin.so \
    && find /opt/semblance -name "libopenvino_*_frontend.so*" ! -name "*_ir_*" -delete \
    && rm -r /opt/semblance/lib/python*/site-packages/numpy/*/tests /opt/semblance/lib/python*/site-packages/numpy/tests

FROM source AS install-gpu
ARG ASSETS=
RUN python -m venv /opt/semblance \
    && /opt/semblance/bin/python assets/fetch.py $ASSETS \
    && /opt/semblance/bin/python -m pip install --no-cache-dir --constraint constraints.txt ./assets ./clients/python ".[models,tracing,openai-tokens]" \
    && /opt/semblance/bin/python -m pip uninstall --yes setuptools pip

FROM python:3.11-slim-bookworm AS runtime
RUN groupadd --system --gid 10001 semblance \
    && useradd --system --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin semblance \
    && install --directory --owner=semblance --group=semblance --mode=0700 /data
ENV PATH=/opt/semblance/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    SEMBLANCE_HOST=0.0.0.0 \
    SEMBLANCE_PORT=8000 \
    SEMBLANCE_HOME=/data
WORKDIR /data
VOLUME /data
EXPOSE 8000
USER 10001:10001
HEALTHCHECK --interval=5s --timeout=4s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/ready', timeout=3)"]
ENTRYPOINT ["semblance"]
CMD ["serve"]

FROM runtime AS gpu
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    SEMBLANCE_DEVICE=cuda
COPY --from=install-gpu /opt/semblance /opt/semblance

FROM runtime AS cpu
ENV SEMBLANCE_DEVICE=cpu
COPY --from=install-cpu /opt/semblance /opt/semblance
