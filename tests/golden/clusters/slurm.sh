#!/bin/bash
# Each member of this job runs the same command, and takes of its work what no other has. Submit it with: sbatch FILE
#SBATCH --job-name=intrabench
#SBATCH --array=1-8
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=6
#SBATCH --mem=32G
#SBATCH --gres=gpu:1
#SBATCH --time=26:30:15
#SBATCH --partition=gpu.long
#SBATCH --output=intrabench-%A_%a.log
#SBATCH --open-mode=append
# two minutes before its time is over, the run is told to stop, as it is before a preemption
#SBATCH --signal=TERM@120
#SBATCH --requeue

cd '/home/me/my bench' || exit
module load cuda
source venv/bin/activate
# srun hands signals on to the run; the number of cores it does not take from above
srun --cpus-per-task=6 intrabench run --model litemedsam --targets 'vertebra.2*'
code=$?
if [ "$code" -eq 75 ]; then # it was told to stop and has more to do
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
