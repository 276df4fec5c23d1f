#!/bin/bash
#$ -hold_jid first
