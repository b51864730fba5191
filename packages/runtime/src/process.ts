export { createProcessDriver } from './process-driver/create-process-driver.js';
