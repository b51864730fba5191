// Takes the place of `http2` in the built package: connect-node imports it for HTTP/2 alone, which the daemon does not
// speak, and loading it costs several milliseconds. What connect-node touches of it still works, on first use.
const http2 = () => process.getBuiltinModule('node:http2');

export const connect = (...args) => http2().connect(...args);
export const constants = new Proxy({}, { get: (_, name) => http2().constants[name] });
