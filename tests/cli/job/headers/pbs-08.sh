#!/bin/bash
#PBS -N a job
