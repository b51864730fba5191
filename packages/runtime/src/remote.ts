export { type ConnectDriverOptions, connectDriver, type RemoteDriver } from './remote/connect-driver.js';
export { DriverLog } from './remote/driver-log.js';
export { serveDriver } from './remote/serve-driver.js';
