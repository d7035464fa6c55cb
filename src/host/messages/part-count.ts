/**
 * Throws if code that walks the value, list by list and field by field, meets more than `partsMax`
 * parts. The platform's encoding can hold a list of four billion holes in a few bytes, parts that
 * contain themselves, and parts that contain another twice, forty levels deep. A message of an
 * actor holds few parts more than once.
 */
export function checkPartCount(value: unknown, partsMax: number): void {
  const pending: unknown[] = [value];
  let count = 1;
  while (pending.length > 0) {
    const part = pending.pop();
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) continue;
    const parts: readonly unknown[] = Array.isArray(part) ? part : Object.values(part);
    count += parts.length;
    if (count > partsMax) throw new Error(`a structured value of more than ${partsMax} parts`);
    for (const inner of parts) if (typeof inner === 'object') pending.push(inner);
  }
}
