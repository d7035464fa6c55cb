import { limits } from '../../limits.ts';
import { guardNames } from './guard-names.ts';
import { guestGlobalsSource } from './guest-globals-source.ts';
import { guestPromiseSource } from './guest-promise-source.ts';
import { guardsKey } from './language-guards-source.ts';

/** File name of the bridge and of the program in stack traces of the realm. */
export const bridgeFileName = 'reducerdb-bridge.js';
export const programFileName = 'reducerdb-program.js';

const guardParameters = Object.values(guardNames).join(', ');
const guardArguments = Object.keys(guardNames)
  .map((name) => `guards.${name}`)
  .join(', ');

/** Lines that the bridge puts before a program's script, to be subtracted from a position. */
export const programLinesBefore = 1;

/**
 * The only code that knows both worlds, as script text: evaluated in the guest realm before any
 * user code, it hardens the realm, makes the compartment, and stands between the program and the
 * host. The script's value is `bridge(host, options)`, which returns a `GuestApi` (see
 * `guest-api.ts`).
 *
 * 1. The program is never given a function or object of the host. It gets closures of this script,
 *    which check that arguments are primitives, call the host, and return the primitive it answers.
 * 2. What a host function throws is never looked at: it would be an object of the host's realm. Any
 *    failure becomes a fresh error of this realm. The host keeps the reason on its side.
 * 3. What the program throws never leaves: it is read here, with every read guarded, into two
 *    texts.
 * 4. Buffers are made here. The host writes to them through views of its own; nothing in the realm
 *    can detach a buffer (see realm-prelude-source.ts).
 * 5. Intrinsics are frozen before user code runs, so this script may use them by name.
 */
export const bridgeSource = String.raw`(function bridge(outer, options) {
'use strict';
${guestPromiseSource}
${guestGlobalsSource}
const { apply } = Reflect;
const host = guardHost();
const { textLengthMax, stackLengthMax, scratchBytes, scratchBytesMax, argumentBytes } = options;
const NativeDate = Date;
let timeMicros = options.loadMicros;
const nowMillis = () => Number(timeMicros / 1000n);

const guards = globalThis.${guardsKey};
delete globalThis.${guardsKey};

const stacksAreNative = formatsStacksNatively();
prepareRealm();
lockdown({
  errorTaming: 'unsafe',
  overrideTaming: 'severe',
  consoleTaming: 'unsafe',
  domainTaming: 'unsafe',
  localeTaming: 'unsafe',
  stackFiltering: 'verbose',
  errorTrapping: 'none',
  unhandledRejectionTrapping: 'none',
  reporting: 'none',
});
harden(Intl);
harden(guards);

const { Promise: GuestPromise, drain } = makePromise();
const { globals, reseed } = makeGlobals({
  nowMillis,
  seedWord: (index) => host.seedWord(index),
  log: (level, text) => sys.log(level, text),
  NativeDate,
});
const compartment = new Compartment({
  __options__: true,
  transforms: [refuseKeywords],
});
const target = compartment.globalThis;
const boundNames = furnish();

let scratch = new ArrayBuffer(scratchBytes);
let argumentsBuffer = new ArrayBuffer(argumentBytes);
const sys = makeSys();

let hooks;
let callReducerHook;
let describeHook;
let SenderError;
let message = '';
let stack = '';
let oneOffArguments;
let description = new ArrayBuffer(0);
let viewResult = new ArrayBuffer(0);
let callResult;

return Object.freeze({
  __proto__: null,
  scratch: () => scratch,
  growScratch,
  argumentsBuffer: (length) => {
    if (length > argumentBytes) return (oneOffArguments = new ArrayBuffer(length));
    return argumentsBuffer;
  },
  programSource,
  load,
  describe,
  description: () => description,
  callReducer,
  takeCallResult,
  callView,
  callAnonymousView,
  takeViewResult,
  settle: () => drain(reportRejection),
  message: () => message,
  stack: () => stack,
  stacksAreNative,
});

// What a host function throws is an object of the host's realm; a full stack is the common reason.
// It is not read. The host has noted what it must know and ends the call where that is needed.
function guardHost() {
  const guard = (run) => (a, b, c, d, e) => {
    try {
      return run(a, b, c, d, e);
    } catch {
      throw new RangeError('Maximum call stack size exceeded');
    }
  };
  const guarded = { __proto__: null };
  for (const name of Object.keys(outer)) guarded[name] = guard(outer[name]);
  return guarded;
}

// Before lockdown: what hardening keeps but a program must not have.
function prepareRealm() {
  for (const name of ['dispose', 'asyncDispose']) {
    if (!(name in Symbol)) {
      Object.defineProperty(Symbol, name, { value: Symbol('Symbol.' + name) });
    }
  }
  Error.stackTraceLimit = options.stackFramesMax;
  // A date format without a date reads the real clock.
  const { prototype } = Intl.DateTimeFormat;
  const getFormat = Object.getOwnPropertyDescriptor(prototype, 'format').get;
  const { formatToParts } = prototype;
  const orNow = (date) => (date === undefined ? nowMillis() : date);
  Object.defineProperty(prototype, 'format', {
    get: function format() {
      const format = apply(getFormat, this, []);
      return (date) => format(orNow(date));
    },
  });
  prototype.formatToParts = function (date) {
    return apply(formatToParts, this, [orNow(date)]);
  };
}

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
  if (source.length > ${limits.moduleSlowCountMax}) throw new RangeError('Invalid string length');
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
function programSource(script) {
  const accessors = boundNames.map(
    (name) => name + ': { get: () => ' + name + ', set: (value) => { ' + name + ' = value; } }',
  );
  return (
    '(function (hidden, globals, values) { with (hidden) { with (globals) { return (function () {' +
    ' "use strict"; return (function (__bind, globalThis, ' + boundNames.join(', ') + ') {' +
    ' __bind({ ' + accessors.join(', ') + ' });' +
    ' return function (module, require, ${guardParameters}) {\n' +
    script +
    '\n}; })(...values); })(); } } })'
  );
}

function load(makeProgram) {
  return guarded(() => {
    const module = { exports: {} };
    const values = [bindGlobals, target, ...boundNames.map((name) => target[name])];
    makeProgram(hiddenGlobals(), target, values)(module, refuseImport, ${guardArguments});
    const namespace = namespaceOf(module.exports);
    if (!('default' in namespace)) throw new TypeError('must export schema as default export');
    const schema = namespace.default;
    const isObject = typeof schema === 'object' ? schema !== null : typeof schema === 'function';
    const getHooks = isObject ? schema[Symbol.for(options.hooksKey)] : undefined;
    if (typeof getHooks !== 'function') {
      throw new TypeError('default export is not a Schema object');
    }
    hooks = apply(getHooks, schema, [namespace, sys]);
    describeHook = hookNamed(options.hookNames.describeModule);
    callReducerHook = hookNamed(options.hookNames.callReducer);
    SenderError = hookNamed(options.hookNames.senderErrorClass);
  });
}

function bindGlobals(accessors) {
  for (const name of boundNames) {
    const { get, set } = accessors[name];
    Object.defineProperty(target, name, { get, set, enumerable: false, configurable: true });
  }
}

// Claims every name of the realm's global object, and has a value for none.
function hiddenGlobals() {
  return new Proxy(Object.freeze({ __proto__: null }), Object.freeze({
    __proto__: null,
    has: (_, name) => name in globalThis,
    get: () => undefined,
    set: (_, name) => {
      throw new ReferenceError(String(name) + ' is not defined');
    },
  }));
}

function refuseImport() {
  throw new TypeError('import() is not available in modules: bundle what the module needs');
}

function namespaceOf(exports) {
  const namespace = { __proto__: null };
  for (const name of Object.keys(exports).sort()) namespace[name] = exports[name];
  Object.defineProperty(namespace, Symbol.toStringTag, { value: 'Module' });
  return Object.freeze(namespace);
}

function hookNamed(name) {
  const hook = typeof hooks === 'object' && hooks !== null ? hooks[name] : undefined;
  if (typeof hook !== 'function') {
    const got = hook === null ? 'null' : typeof hook;
    throw new TypeError('Expected module function hook ' + '\x60' + name + '\x60, got ' + got);
  }
  return hook;
}

function describe() {
  return guarded(() => {
    const bytes = apply(describeHook, hooks, []);
    const buffer = bufferOf(bytes);
    if (buffer === undefined) {
      throw new TypeError(
        options.hookNames.describeModule + ' must return a Uint8Array, got ' + typeof bytes);
    }
    description = buffer;
  });
}

function callReducer(id, sender, connectionId, timestamp, length) {
  timeMicros = timestamp;
  reseed();
  try {
    const buffer = length > argumentBytes ? oneOffArguments : argumentsBuffer;
    oneOffArguments = undefined;
    const args = new DataView(buffer, 0, length);
    const returned = apply(callReducerHook, hooks, [id, sender, connectionId, timestamp, args]);
    if (returned === undefined) return 0;
    callResult = bufferOf(returned);
    if (callResult !== undefined) return 3;
    throw new TypeError('Reducer returned a value other than \x60undefined\x60');
  } catch (thrown) {
    const status = classify(thrown);
    if (status !== 1) return status;
    callResult = errorBytesOf(thrown);
    return callResult === undefined ? 1 : 4;
  }
}

// A copy of the engine's making, whatever the program has done to its own.
function bufferOf(bytes) {
  const isBytes = ArrayBuffer.isView(bytes) && bytes instanceof Uint8Array;
  return isBytes ? new Uint8Array(bytes).buffer : undefined;
}

function errorBytesOf(thrown) {
  try {
    return bufferOf(thrown[options.errorBytesKey]);
  } catch {
    return undefined;
  }
}

function takeCallResult() {
  const taken = callResult;
  callResult = undefined;
  return taken;
}

// A view is a function of the rows: its clock stands still and its randomness is always the same.
function callView(id, sender) {
  return evaluateView(options.hookNames.callView, [id, sender, new Uint8Array(0)]);
}

function callAnonymousView(id) {
  return evaluateView(options.hookNames.callAnonymousView, [id, new Uint8Array(0)]);
}

function evaluateView(hookName, args) {
  timeMicros = options.loadMicros;
  reseed();
  viewResult = new ArrayBuffer(0);
  return guarded(() => {
    // Looked up with the call: programs without views may come without the hooks.
    const result = apply(hookNamed(hookName), hooks, args);
    const isObject = typeof result === 'object' && result !== null;
    const buffer = bufferOf(isObject ? result.data : undefined);
    if (buffer === undefined) {
      throw new TypeError(hookName + ' must return an object whose data is a Uint8Array');
    }
    viewResult = buffer;
  });
}

// It may be large: nothing here keeps it.
function takeViewResult() {
  const taken = viewResult;
  viewResult = new ArrayBuffer(0);
  return taken;
}

function guarded(run) {
  try {
    run();
    return 0;
  } catch (thrown) {
    return classify(thrown);
  }
}

// 1 = refused by the program in its own words, 2 = anything else. Reads may run guest code.
function classify(thrown) {
  message = '';
  stack = '';
  if (isSenderError(thrown)) {
    message = cut(messageOf(thrown), textLengthMax);
    return 1;
  }
  message = cut('Uncaught ' + cut(describeThrown(thrown), textLengthMax), textLengthMax);
  stack = cut(stackOf(thrown), stackLengthMax);
  return 2;
}

function isSenderError(thrown) {
  try {
    return SenderError !== undefined && thrown instanceof SenderError;
  } catch {
    return false;
  }
}

function messageOf(thrown) {
  try {
    const text = thrown.message;
    return typeof text === 'string' ? text : String(text);
  } catch {
    return '';
  }
}

function describeThrown(thrown) {
  try {
    if (thrown instanceof Error) {
      const { name } = thrown;
      const text = messageOf(thrown);
      if (typeof name !== 'string' || name === '') return text;
      return text === '' ? name : cut(name, textLengthMax) + ': ' + text;
    }
    if (typeof thrown === 'bigint') return thrown + 'n';
    const text = String(thrown);
    return text === '[object Object]' ? String(JSON.stringify(thrown)) : text;
  } catch {
    return 'a value that cannot be shown';
  }
}

function stackOf(thrown) {
  try {
    const text = typeof thrown === 'object' && thrown !== null ? thrown.stack : undefined;
    return typeof text === 'string' ? text : '';
  } catch {
    return '';
  }
}

function cut(text, lengthMax) {
  if (text.length <= lengthMax) return text;
  return text.slice(0, lengthMax) + '\u2026 (' + (text.length - lengthMax) + ' more characters)';
}

function reportRejection(reason) {
  if (!host.mayLog()) return;
  const text = 'Unhandled promise rejection: ' + cut(describeThrown(reason), textLengthMax);
  host.log(0, cut(text, textLengthMax), cut(stackOf(reason), stackLengthMax));
}

function growScratch(minBytes) {
  if (minBytes <= scratch.byteLength) return scratch;
  if (minBytes > scratchBytesMax) {
    throw new RangeError('a row or key may have at most ' + scratchBytesMax + ' bytes');
  }
  const bytes = Math.min(scratchBytesMax, Math.max(minBytes, scratch.byteLength * 2));
  const larger = new ArrayBuffer(bytes);
  new Uint8Array(larger).set(new Uint8Array(scratch));
  scratch = larger;
  host.scratchReplaced(larger);
  return larger;
}

// Whether a stack is made into text without a call out of the realm. The host checks on it.
function formatsStacksNatively() {
  let isCalled = false;
  Error.prepareStackTrace = () => {
    isCalled = true;
    return '';
  };
  String(new Error('probe').stack);
  delete Error.prepareStackTrace;
  return !isCalled;
}

function makeSys() {
  const refuse = (type, value) => {
    throw new TypeError('Expected \x60' + type + '\x60, got ' + typeof value);
  };
  const number = (value) => {
    if (typeof value !== 'number') refuse('u32', value);
    return value;
  };
  const string = (value) => {
    if (typeof value !== 'string') refuse('string', value);
    return value;
  };
  const named = (run) => (name) => run(string(name));
  const call1 = (run) => (a) => run(number(a));
  const call2 = (run) => (a, b) => run(number(a), number(b));
  const call3 = (run) => (a, b, c) => run(number(a), number(b), number(c));
  const call5 = (run) => (a, b, c, d, e) =>
    run(number(a), number(b), number(c), number(d), number(e));
  // A write that runs out of stack halfway ends the whole database (it reopens from its log), so a
  // runaway recursion shall fail here, where nothing is changed yet: every 32nd write makes sure
  // that there are 32 KiB left, which is more than 32 levels of an ordinary recursion and one write
  // need.
  const ballast = Object.freeze(new Array(4096).fill(0));
  const nothing = () => {};
  let writeCount = 0;
  const write = (run) => (a, b, c, d, e) => {
    writeCount += 1;
    if ((writeCount & 31) === 0) apply(nothing, undefined, ballast);
    return run(a, b, c, d, e);
  };
  const callerStack = () => cut(String(new Error().stack), stackLengthMax);
  return harden({
    scratch: (minBytes) => growScratch(number(minBytes)),
    table_id: named(host.tableId),
    index_id: named(host.indexId),
    row_count: call1(host.rowCount),
    insert: write(call2(host.insert)),
    update: write(call3(host.update)),
    delete_equal: write(call2(host.deleteEqual)),
    find: call2(host.find),
    scan: call1(host.scan),
    scan_point: call2(host.scanPoint),
    scan_range: call5(host.scanRange),
    next: call1(host.next),
    close: call1(host.close),
    delete_point: write(call2(host.deletePoint)),
    delete_range: write(call5(host.deleteRange)),
    clear: write(call1(host.clear)),
    log: (level, text) => {
      number(level);
      string(text);
      if (host.mayLog()) host.log(level, cut(text, textLengthMax), callerStack());
      return 0;
    },
    timer_start: named(host.timerStart),
    timer_end: (id) => host.timerEnd(number(id), callerStack()),
    identity: () => host.identity(),
    jwt: () => host.jwt(),
    seed: () => host.seed(),
    violation: () => host.violation(),
  });
}
})`;
