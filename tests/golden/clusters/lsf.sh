#!/bin/bash
# Each member of this job runs the same command, and takes of its work what no other has. Submit it with: bsub < FILE
#BSUB -J "intrabench[1-8]"
#BSUB -n 6
#BSUB -R "span[hosts=1] rusage[mem=32GB]"
#BSUB -M 32GB
#BSUB -gpu "num=1"
# two minutes before its time is over, the run is told to stop
#BSUB -W 26:31 -wt 2 -wa TERM
#BSUB -q gpu.long
#BSUB -o intrabench-%J_%I.log
# a run that ends with 75 was told to stop and has more to do: it is queued again, as after the loss of its host
#BSUB -Q "75"
#BSUB -r

cd '/home/me/my bench' || exit
module load cuda
source venv/bin/activate
# in the place of the shell, the run gets its signals
exec intrabench run --model litemedsam --targets 'vertebra.2*'
