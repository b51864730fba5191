import { onFramework } from './support/on-framework.js';

await onFramework('langchain', () => import(`./frameworks/${'langchain'}.js`));
