/** Where a program runs: its globals, and the text around its script. */
import { globals } from './globals.js';
import { guards } from './hardening.js';
import { slowCountMax } from './host.js';
import { GuestPromise } from './promise.js';

const compartment = new Compartment({
  __options__: true,
  transforms: [refuseKeywords],
});
export const target = compartment.globalThis;
export const boundNames = furnish();

const guardParameters = Object.values(options.guardNames).join(', ');
export const guardArguments = Object.keys(options.guardNames).map((name) => guards[name]);

// Puts the program's globals in place and returns the names to bind as variables of the program:
// through the compartment's global object a look-up costs microseconds.
function furnish() {
  for (const name of ['lockdown', 'harden', 'Compartment', 'assert']) delete target[name];
  const offered = { Promise: GuestPromise, Intl, ...globals };
  for (const name of ['Float16Array', 'Float32Array', 'Float64Array', 'SuppressedError']) {
    if (name in globalThis) offered[name] = harden(globalThis[name]);
  }
  for (const name of Object.keys(offered)) {
    Object.defineProperty(target, name, {
      value: offered[name],
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }
  const unbindable = ['undefined', 'NaN', 'Infinity', 'globalThis', 'eval'];
  return Object.getOwnPropertyNames(target).filter((name) => !unbindable.includes(name));
}

// Text that becomes code while the program runs may hold no async function: the engine's promises
// would report an unhandled rejection to the process; and no import expression of any form: it
// reaches into the host. Neither word can be written with escapes, so looking for the words is
// enough.
function refuseKeywords(source) {
  if (source.length > slowCountMax) throw new RangeError('Invalid string length');
  const match = /(?<![\w$])(async|import)(?![\w$])/.exec(source);
  if (match !== null) {
    throw new SyntaxError('"' + match[1] + '" is not available in code made from text in a module');
  }
  return source;
}

// The text of a script whose value, called by load, makes the program. The program is not put
// through the compartment's own evaluation, which looks for the letters of an import expression
// even in strings: link.ts has proved that there is none. The scope is the same as the
// compartment's: free names are its globals, names of the realm's own global object are hidden,
// most globals are bound as variables, and assignments to globalThis reach those variables.
export function programSource(script) {
  const accessors = boundNames.map(
    (name) => name + ': { get: () => ' + name + ', set: (value) => { ' + name + ' = value; } }',
  );
  return (
    '(function (hidden, globals, values) { with (hidden) { with (globals) { return (function () {' +
    ' "use strict"; return (function (__bind, globalThis, ' +
    boundNames.join(', ') +
    ') {' +
    ' __bind({ ' +
    accessors.join(', ') +
    ' });' +
    // In parentheses it is compiled at once: it is called at once, and else parsed twice.
    ' return (function (module, require, ' +
    guardParameters +
    ') {\n' +
    script +
    '\n}); })(...values); })(); } } })'
  );
}

export function bindGlobals(accessors) {
  for (const name of boundNames) {
    const { get, set } = accessors[name];
    Object.defineProperty(target, name, { get, set, enumerable: false, configurable: true });
  }
}

// Claims every name of the realm's global object, and has a value for none.
export function hiddenGlobals() {
  return new Proxy(
    Object.freeze({ __proto__: null }),
    Object.freeze({
      __proto__: null,
      has: (_, name) => name in globalThis,
      get: () => undefined,
      set: (_, name) => {
        throw new ReferenceError(String(name) + ' is not defined');
      },
    }),
  );
}
