# The agent of one member cluster. It dials out only: no port is exposed, and neither the web
# framework nor the database layer of the hub is in the image. Built from the root of the repository:
#   docker build -f deploy/docker/agent.Dockerfile -t roadstead-agent .
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements/ requirements/
RUN python -m venv /opt/roadstead \
    && /opt/roadstead/bin/python -m pip install --no-cache-dir --require-hashes --no-deps -r requirements/agent.txt \
    && python -m venv /opt/build \
    && /opt/build/bin/python -m pip install --no-cache-dir --require-hashes --no-deps -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY agent/ agent/
COPY hub/ hub/
COPY roadstead/ roadstead/
COPY shared/ shared/
RUN /opt/build/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/wheel . \
    && /opt/roadstead/bin/python -m pip install --no-cache-dir --no-deps /tmp/wheel/*.whl \
    && /opt/roadstead/bin/python -m pip uninstall --yes pip \
    && rm -rf /opt/roadstead/lib/python3.11/site-packages/hub \
        /opt/roadstead/lib/python3.11/site-packages/shared/kubesim

FROM python:3.11-slim-bookworm
ENV PATH=/opt/roadstead/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ROADSTEAD_METRICS_PORT=9464
RUN useradd --uid 10001 --no-create-home --home-dir /var/lib/roadstead --shell /usr/sbin/nologin roadstead \
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/roadstead /var/lib/roadstead/data \
        /var/lib/roadstead/cluster /var/lib/roadstead/join
COPY --from=build /opt/roadstead /opt/roadstead
USER 10001:10001
WORKDIR /var/lib/roadstead
# On loopback of the container, for this check; scraping it takes --metrics-host.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9464/healthz', timeout=2)"]
ENTRYPOINT ["python", "-m", "agent"]
CMD ["--credential=/var/lib/roadstead/data/credential"]
