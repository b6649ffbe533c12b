# Semblance in an image: `docker build --target cpu .` (the default), or `--target gpu`.
# Only what serving needs is in it. The versions are those of constraints.txt.

FROM python:3.11-slim-bookworm AS source
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY semblance semblance
COPY models models
COPY service service
COPY clients/python clients/python

FROM source AS install-cpu
# Where pip finds torch without CUDA: docs/decisions/0027-torch-in-the-image.md says why it is no default.
ARG PIP_EXTRA_INDEX_URL
RUN python -m venv /opt/semblance \
    && /opt/semblance/bin/python -m pip install --no-cache-dir --constraint constraints.txt ./clients/python ".[cpu,tracing]"
RUN if ls -d /opt/semblance/lib/python*/site-packages/nvidia > /dev/null 2>&1; then \
        echo "NOTE: the size of this image, most of it CUDA, which the target cpu never uses:"; \
        du --summarize --human-readable /opt/semblance; \
        echo "NOTE: --build-arg PIP_EXTRA_INDEX_URL=URL leaves CUDA out; docs/deployment.md says which URL."; \
    fi

FROM source AS install-gpu
ARG PIP_EXTRA_INDEX_URL
RUN python -m venv /opt/semblance \
    && /opt/semblance/bin/python -m pip install --no-cache-dir --constraint constraints.txt ./clients/python ".[gpu,tracing]"

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
