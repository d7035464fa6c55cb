/**
 * Hardens the realm. What runs before this file finds the realm as the prelude left it; what runs
 * after it finds its intrinsics frozen, and says so by importing it.
 */
import { guardsKey } from '../guards-key.js';
import { apply } from './host.js';

export const NativeDate = Date;
let timeMicros = 0n;
export const nowMillis = () => Number(timeMicros / 1000n);

export const guards = globalThis[guardsKey];
delete globalThis[guardsKey];

export const stacksAreNative = formatsStacksNatively();
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

// The time that the program sees.
export function setClock(micros) {
  timeMicros = micros;
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
  const getFormat = /** @type {{ get: () => Intl.DateTimeFormat['format'] }} */ (
    Object.getOwnPropertyDescriptor(prototype, 'format')
  ).get;
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
