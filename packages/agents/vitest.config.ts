import { join } from 'node:path';
import { mergeConfig } from 'vitest/config';
import { packageTests } from '../../vitest.shared.js';
import { frameworkDirectory, frameworkOf } from './frameworks/install.mjs';

export default mergeConfig(packageTests(), {
  plugins: [
    {
      name: 'frameworks',
      enforce: 'pre',
      resolveId(this: { resolve(id: string, importer: string, options: object): unknown }, id: string) {
        const name = frameworkOf(id);
        if (name === undefined) return undefined;
        return this.resolve(id, join(frameworkDirectory(name), 'package.json'), { skipSelf: true });
      },
    },
  ],
});
