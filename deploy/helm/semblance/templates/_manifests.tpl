{{- /* The name that all others begin with: of the release, and of the chart unless it is contained. */}}
{{- define "semblance.name" -}}
{{- contains "semblance" .Release.Name | ternary .Release.Name (printf "%s-semblance" .Release.Name) | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* The manifests of a file of deploy/kubernetes under the names of this release: "Kind/name as there" -> manifest. */}}
{{- define "semblance.manifests" -}}
{{- $name := include "semblance.name" .root }}
{{- $manifests := dict }}
{{- range splitList "\n---\n" (.root.Files.Get (printf "files/%s.yaml" .file)) }}
{{- $manifest := fromYaml (regexReplaceAll "app: semblance" . (printf "app: %s" $name)) }}
{{- $key := printf "%s/%s" $manifest.kind $manifest.metadata.name }}
{{- $_ := set $manifest.metadata "name" (regexReplaceAll "^semblance" $manifest.metadata.name $name) }}
{{- $_ := set $manifests $key $manifest }}
{{- end }}
{{- toYaml $manifests }}
{{- end }}

{{- /* The kind of workload that runs the replicas: those with a copy have volumes of their own. */}}
{{- define "semblance.kind" -}}
{{- ternary "Deployment" "StatefulSet" .Values.milvus.enabled }}
{{- end }}

{{- /* The manifests of the replicas. */}}
{{- define "semblance.replicas" -}}
{{- include "semblance.manifests" (dict "root" . "file" (ternary "stateless" "replicas" .Values.milvus.enabled)) }}
{{- end }}
