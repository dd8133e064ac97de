#!/bin/bash
# Each member of this job runs the same command, and takes of its work what no other has. Submit it with: qsub FILE
#PBS -S /bin/bash
#PBS -N intrabench
#PBS -J 1-8
#PBS -l select=1:ncpus=6:ngpus=1:mem=32gb
#PBS -l walltime=26:30:15
#PBS -q gpu.long
#PBS -j oe
# PBS queues again what it preempts. A run that ends with 75 was told to stop and has more to do, as when its time is
# over: submit this file again, and it goes on
#PBS -r y

cd '/home/me/my bench' || exit
module load cuda
source venv/bin/activate
# in the place of the shell, the run gets its signals
exec intrabench run --model litemedsam --targets 'vertebra.2*'
