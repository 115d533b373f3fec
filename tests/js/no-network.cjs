// Loaded before a program that is to reach no network: no name is found.

const dns = require('node:dns');
const refuse = (name, options, done) => {
  const fault = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND', hostname: name });
  process.nextTick(done ?? options, fault);
};
dns.lookup = refuse;
dns.promises.lookup = (name) => Promise.reject(new Error(`getaddrinfo ENOTFOUND ${name}`));
