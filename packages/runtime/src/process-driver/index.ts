export { createProcessDriver } from './create-process-driver.js';
