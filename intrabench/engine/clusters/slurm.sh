#!/bin/bash
# Each member of this job runs the same command, and takes of its work what no other has. Submit it with: sbatch FILE
#SBATCH --job-name=intrabench
#SBATCH --array=1-@members@
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=@cpus@
#SBATCH --mem=@memory@
#SBATCH --gres=gpu:@gpus@
#SBATCH --time=@time@
#SBATCH --partition=@queue@
#SBATCH --output=intrabench-%A_%a.log
#SBATCH --open-mode=append
# two minutes before its time is over, the run is told to stop, as it is before a preemption
#SBATCH --signal=TERM@120
#SBATCH --requeue

cd @folder@ || exit
@preparation@
# srun hands signals on to the run; the number of cores it does not take from above
srun --cpus-per-task=@cpus@ @command@
code=$?
if [ "$code" -eq 75 ]; then # it was told to stop and has more to do
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
