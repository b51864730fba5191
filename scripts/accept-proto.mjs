#!/usr/bin/env node
// Makes the present proto/ the baseline of the breaking-change check. Run it when a change is meant, and commit the
// descriptor together with the change.
import { join } from 'node:path';
import { repository, runTool } from './generate/run.mjs';

runTool('buf', ['build', '-o', 'descriptor.binpb'], { cwd: join(repository, 'proto') });
console.log('proto/descriptor.binpb describes the present protocol.');
