# The environment of `make demo`, made by the steps of CI. The folder .git comes along: statements name the commit.
#   docker build --build-arg UID="$(id -u)" --tag toolnoise .
#   docker run --rm --volume "$PWD/results:/toolnoise/results" toolnoise make demo
# The digest is of the image with Python 3.11.16 (25 August 2026), for each of its platforms.
FROM python:3.11-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b

# No root: what it writes into a mounted folder belongs to the user with this number.
ARG UID=1000
RUN useradd --create-home --uid "$UID" toolnoise

WORKDIR /toolnoise
COPY --chown=$UID . .
RUN chown "$UID" . && .ci/run tools
USER $UID
RUN make .venv/cpu

ENV PATH="/toolnoise/.venv/bin:$PATH"
CMD ["toolnoise", "doctor"]
