const depthMax = 4;
const itemsMax = 100;

/** Formats a value for the log: nested strings quoted, nesting and length bounded. */
export function inspect(value: unknown, depth = 0, above: readonly unknown[] = []): string {
  switch (typeof value) {
    case 'string':
      return depth === 0 ? value : `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
    case 'bigint':
      return `${value}n`;
    case 'symbol':
      return value.toString();
    case 'function':
      return value.name === '' ? '[Function]' : `[Function ${value.name}]`;
    case 'object':
      return value === null ? 'null' : inspectObject(value, depth, above);
    default:
      return Object.is(value, -0) ? '-0' : String(value);
  }
}

function inspectObject(value: object, depth: number, above: readonly unknown[]): string {
  if (above.includes(value)) return '[Circular]';
  if (value instanceof Error) return inspectError(value);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  const name = className(value);
  if (depth >= depthMax) return `[${name ?? 'Object'}]`;
  const inner = (item: unknown) => inspect(item, depth + 1, [...above, value]);
  if (Array.isArray(value)) return `[${listed(value, inner)}]`;
  if (ArrayBuffer.isView(value) && Symbol.iterator in value) {
    return `${name}(${(value as unknown as unknown[]).length}) [${listed(value as never, inner)}]`;
  }
  if (value instanceof Map) {
    const pairs = [...value].map(([key, item]) => `${inner(key)} => ${inner(item)}`);
    return `Map(${value.size}) {${spaced(pairs)}}`;
  }
  if (value instanceof Set) return `Set(${value.size}) {${spaced([...value].map(inner))}}`;
  // Identities, timestamps and the like have a `toString` of their own.
  if (name !== undefined && value.toString !== Object.prototype.toString) return String(value);
  const fields = Object.entries(value).map(([key, item]) => `${keyText(key)}: ${inner(item)}`);
  return `${name === undefined ? '' : `${name} `}{${spaced(fields)}}`;
}

function inspectError(error: Error): string {
  const { stack } = error;
  const head = `${error.name}: ${error.message}`;
  const text = typeof stack === 'string' && stack !== '' ? stack : head;
  return error.cause === undefined
    ? text
    : `${text}\n  [cause]: ${inspect(error.cause, 1, [error])}`;
}

/** The class of an instance; `undefined` for a plain object. */
function className(value: object): string | undefined {
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: unknown } | null;
  if (prototype === null || prototype === Object.prototype) return undefined;
  const made = prototype.constructor;
  return typeof made === 'function' ? made.name : undefined;
}

function listed(items: readonly unknown[], inner: (item: unknown) => string): string {
  const shown = Array.from(items.slice(0, itemsMax), inner);
  if (items.length > itemsMax) shown.push(`… ${items.length - itemsMax} more`);
  return shown.length === 0 ? '' : ` ${shown.join(', ')} `;
}

function spaced(parts: readonly string[]): string {
  if (parts.length === 0) return '';
  const more = parts.length > itemsMax ? [`… ${parts.length - itemsMax} more`] : [];
  return ` ${[...parts.slice(0, itemsMax), ...more].join(', ')} `;
}

function keyText(key: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? key : `'${key}'`;
}
