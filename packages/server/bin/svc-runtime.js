#!/usr/bin/env node
// In the repository this file is there before the build is, so that npm can link the command when it installs.
import '../dist/process/separate/svc-runtime.js';
