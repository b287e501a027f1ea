#!/usr/bin/env bash
# Tries each patch of changes/ and commits what `toolnoise keep` keeps. First copy this folder, `git init` and commit.
seed=0
try() { seed=$((seed + 1)); echo "$1,$(python train.py $seed)" >>results.csv; }

echo change,val_loss >results.csv
for _ in $(seq 16); do try base; done
for change in changes/*.patch; do
  git apply "$change" || continue
  answer=3
  while [ $answer = 3 ]; do
    try "$change"
    toolnoise keep results.csv --metric val_loss; answer=$?
  done
  case $answer in 0) git commit -qam "$change" ;; 1) git checkout -q . ;; *) exit 2 ;; esac
done
