# The service: released models, or protected answers under a budget (docs/guide/serve.md).
FROM python:3.11-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --constraint constraints.txt ".[service,postgres,tables]"

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 reticent \
    && install -d -o reticent -g reticent /data /witness
COPY --from=build /venv /venv
# The witness must outlive the container: without it a restored ledger is not told (docs/guide/ledger.md).
ENV PATH=/venv/bin:$PATH RETICENT_WITNESS=/witness PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
USER reticent
WORKDIR /data
VOLUME ["/data", "/witness"]
EXPOSE 8600
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8600/v2/health/ready', timeout=4)"]
ENTRYPOINT ["reticent"]
CMD ["serve", "--help"]
