#!/bin/bash
# Each member of this job runs the same command, and takes of its work what no other has. Submit it with: qsub FILE
#PBS -S /bin/bash
#PBS -N intrabench
#PBS -J @array@
#PBS -l select=1:ncpus=@cpus@:ngpus=@ngpus@:mem=@mem@
#PBS -l walltime=@time@
#PBS -q @queue@
#PBS -j oe
# PBS queues again what it preempts. A run that ends with 75 was told to stop and has more to do, as when its time is
# over: submit this file again, and it goes on
#PBS -r y

cd @folder@ || exit
@preparation@
# in the place of the shell, the run gets its signals
exec @command@
