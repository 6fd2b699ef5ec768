{{/* Name of the workload and of the cluster's roles. */}}
{{- define "agent.name" -}}
{{- .Values.nameOverride | default .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "agent.selector" -}}
app.kubernetes.io/name: roadstead-agent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agent.labels" -}}
{{ include "agent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: roadstead
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "agent.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A list of texts on one line. */}}
{{- define "agent.list" -}}
{{ toJson . | replace "\",\"" "\", \"" }}
{{- end -}}

{{/* The port of hub.url. */}}
{{- define "agent.hubPort" -}}
{{- $url := urlParse .Values.hub.url -}}
{{- $port := regexFind ":[0-9]+$" $url.host -}}
{{- if $port -}}
{{ trimPrefix ":" $port }}
{{- else -}}
{{ ternary "443" "80" (eq $url.scheme "https") }}
{{- end -}}
{{- end -}}

{{/* Refuses what the schema can not see: one value that makes no sense beside another. */}}
{{- define "agent.check" -}}
{{- $hub := .Values.hub -}}
{{- if not $hub.url -}}
{{- fail "hub.url: say where the hub is, https://HOST[:PORT]" -}}
{{- end -}}
{{- if and (hasPrefix "http://" $hub.url) (not $hub.plainHTTP) -}}
{{- fail "hub.url: the credential would be sent in clear; use https://, or hub.plainHTTP=true where the way is safe by other means" -}}
{{- end -}}
{{- if and $hub.ca.configMap $hub.ca.secret -}}
{{- fail "hub.ca: a ConfigMap or a Secret, not both" -}}
{{- end -}}
{{- if and $hub.caPins (or $hub.ca.configMap $hub.ca.secret) -}}
{{- fail "hub.caPins: pins of the CA or the CA itself, not both" -}}
{{- end -}}
{{- if and (hasPrefix "http://" $hub.url) (or $hub.caPins $hub.ca.configMap $hub.ca.secret $hub.clientCertificate.secret) -}}
{{- fail "hub.url: CA, pins and certificates are for https://" -}}
{{- end -}}
{{- end -}}
