# The hub: API, dashboard, controllers, bridge. Built from the root of the repository:
#   docker build -f deploy/docker/hub.Dockerfile -t roadstead-hub .
# With --build-arg EXTRA=sim the same file gives the simulated cluster, for trying things out.
FROM python:3.11-slim-bookworm AS build
ARG EXTRA=hub
WORKDIR /src
# Dependencies first, and only what the lock names: the layer lasts until the lock changes.
COPY requirements/ requirements/
RUN python -m venv /opt/roadstead \
    && /opt/roadstead/bin/python -m pip install --no-cache-dir --require-hashes --no-deps -r "requirements/${EXTRA}.txt" \
    && python -m venv /opt/build \
    && /opt/build/bin/python -m pip install --no-cache-dir --require-hashes --no-deps -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY agent/ agent/
COPY hub/ hub/
COPY roadstead/ roadstead/
COPY shared/ shared/
RUN /opt/build/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/wheel . \
    && /opt/roadstead/bin/python -m pip install --no-cache-dir --no-deps /tmp/wheel/*.whl \
    && /opt/roadstead/bin/python -m pip uninstall --yes pip

FROM python:3.11-slim-bookworm
ENV PATH=/opt/roadstead/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# Named volumes take the owner of what they cover: the folders exist, and belong to the user.
RUN useradd --uid 10001 --no-create-home --home-dir /var/lib/roadstead --shell /usr/sbin/nologin roadstead \
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/roadstead /var/lib/roadstead/data \
        /var/lib/roadstead/cluster /var/lib/roadstead/join /var/lib/roadstead/admin /var/lib/roadstead/metrics
COPY --from=build /opt/roadstead /opt/roadstead
USER 10001:10001
WORKDIR /var/lib/roadstead
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["python", "-m", "hub"]
CMD ["--data=/var/lib/roadstead/data", "--listen=0.0.0.0:8080"]
