// Lets plain Node run this repository's TypeScript sources in a child process, which Vitest cannot start:
// `node --conditions=@svc/source --import <this file> child.ts`.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
