import { onFramework } from './support/on-framework.js';

await onFramework('mastra', () => import(`./frameworks/${'mastra'}.js`));
