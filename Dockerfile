# The environment of `make demo`, made by the steps of CI. The folder .git comes along: statements name the commit.
#   docker build --tag toolnoise .
#   docker run --rm --volume "$PWD/results:/toolnoise/results" toolnoise make demo
FROM python:3.11-slim-bookworm

WORKDIR /toolnoise
COPY . .
RUN .ci/run tools && make .venv/cpu

ENV PATH="/toolnoise/.venv/bin:$PATH"
CMD ["toolnoise", "doctor"]
