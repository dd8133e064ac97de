# IntraBench in a container, for a CPU:
#   docker build --tag intrabench .
#   docker run --rm --volume "$PWD/bench:/bench" intrabench run --model litemedsam --prompter box_interp:n=3 --dataset spine_ct
# for NVIDIA GPUs, with the torch of the default index, which brings its CUDA libraries:
#   docker build --build-arg TORCH_INDEX= --tag intrabench:cuda .
#   docker run --rm --gpus all --volume "$PWD/bench:/bench" intrabench:cuda run ...
ARG BASE=docker.io/library/python:3.13-slim
FROM ${BASE}

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG EXTRAS=litemedsam,report

COPY . /src
RUN python3 -m venv /opt/intrabench \
    && if [ -n "${TORCH_INDEX}" ]; then \
        /opt/intrabench/bin/pip install --no-cache-dir --index-url "${TORCH_INDEX}" torch torchvision; fi \
    && /opt/intrabench/bin/pip install --no-cache-dir "/src${EXTRAS:+[$EXTRAS]}" \
    && rm -rf /src \
    && useradd --create-home bench && mkdir /bench && chown bench /bench

# data, weights and results stay in the mounted folder, which must be writable by user 1000, or `--user` names another
USER bench
ENV PATH=/opt/intrabench/bin:$PATH INTRABENCH_DATA=/bench/data INTRABENCH_WEIGHTS=/bench/weights
WORKDIR /bench
ENTRYPOINT ["intrabench"]
CMD ["--help"]
