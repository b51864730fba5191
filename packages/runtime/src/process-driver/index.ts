export { createProcessDriver } from './process-driver.js';
