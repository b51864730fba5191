// Bundles the program that works on files of volumes inside a container, where nothing is beside it. The compiler has made everything
// else before.
import { bundleProgram } from '../../scripts/bundle-program.mjs';

await bundleProgram(import.meta.url, {
  entry: 'src/incus-driver/volumes/agent-program.ts',
  outfile: 'dist/incus-driver/volumes/agent-bundle.mjs',
  format: 'esm',
});
