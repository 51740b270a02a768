# The environment of requirements.lock with the project in it.
#   docker build --build-arg COMMIT="$(git rev-parse HEAD)" --tag dyna_td:1.0.0 .
#   docker run --rm --user "$(id -u)" --volume "$PWD/results:/dyna_td/results" dyna_td:1.0.0 figure_7
# Debian 12 has glibc 2.36, as the published numbers have.
FROM python:3.11-slim-bookworm

# Whatever number the user has, there is a name and a place for caches.
ENV USER=dyna HOME=/tmp PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore

WORKDIR /dyna_td
COPY requirements.lock ./
RUN python -m pip install --requirement requirements.lock

COPY pyproject.toml README.md LICENSE Snakefile ./
COPY src src
COPY envs envs
COPY figures figures
COPY experiments experiments
COPY profiles profiles
COPY reference reference
RUN python -m pip install --no-deps --no-build-isolation --editable . \
    && useradd --uid 1000 dyna \
    && mkdir results \
    && chmod a+rwx . results

# For the JSON file of each result, because the image has no repository.
ARG COMMIT=
ENV DYNA_TD_COMMIT=${COMMIT}

USER dyna
ENTRYPOINT ["snakemake"]
CMD ["all_figures"]
