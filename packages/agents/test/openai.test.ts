import { onFramework } from './support/on-framework.js';

await onFramework('openai', () => import(`./frameworks/${'openai'}.js`));
