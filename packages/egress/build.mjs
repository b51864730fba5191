// Bundles the process. `build-package.mjs` has made the entries for programs before, and all that they bundle is in it too.
import { bundleProgram } from '../../scripts/bundle-program.mjs';

await bundleProgram(import.meta.url, { entry: 'src/main.ts', outfile: 'dist/egress.cjs', format: 'cjs' });
