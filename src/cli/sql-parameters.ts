import { JsonError, JsonNumber, parseJson } from '../values/json.ts';

const named = /^(:?[A-Za-z_]\w*|\$?\d+)=([\s\S]*)$/;

/**
 * The values of `--param`, as the JSON object that the service takes. `name=value` and `1=value`
 * name their parameter; others are `$1`, `$2`, … in order. A value that is a JSON number, string,
 * `true`, `false` or `null` is parsed; anything else is text.
 */
export function parametersJson(given: readonly string[]): string {
  let position = 0;
  const entries = given.map((argument) => {
    const match = named.exec(argument);
    if (match === null) {
      position += 1;
      return [String(position), argument] as const;
    }
    const [, name = '', value = ''] = match;
    return [name.replace(/^[:$]/, ''), value] as const;
  });
  const members = entries.map(([name, value]) => `${JSON.stringify(name)}:${valueJson(value)}`);
  return `{${members.join(',')}}`;
}

function valueJson(value: string): string {
  try {
    const json = parseJson(value);
    const isPlain = json === null || typeof json !== 'object' || json instanceof JsonNumber;
    return isPlain ? value : JSON.stringify(value);
  } catch (error) {
    if (error instanceof JsonError) return JSON.stringify(value);
    throw error;
  }
}
