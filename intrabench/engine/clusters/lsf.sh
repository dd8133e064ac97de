#!/bin/bash
# Each member of this job runs the same command, and takes of its work what no other has. Submit it with: bsub < FILE
#BSUB -J "intrabench[1-@members@]"
#BSUB -n @cpus@
#BSUB -R "span[hosts=1] rusage[mem=@memory@B]"
#BSUB -M @memory@B
#BSUB -gpu "num=@gpus@"
# two minutes before its time is over, the run is told to stop
#BSUB -W @hours@ -wt 2 -wa TERM
#BSUB -q @queue@
#BSUB -o intrabench-%J_%I.log
# a run that ends with 75 was told to stop and has more to do: it is queued again, as after the loss of its host
#BSUB -Q "75"
#BSUB -r

cd @folder@ || exit
@preparation@
# in the place of the shell, the run gets its signals
exec @command@
