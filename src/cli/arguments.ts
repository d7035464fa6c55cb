/** Options whose value is optional, each with the value that it has when given alone. */
const bareValues: Readonly<Record<string, string>> = {
  '--yes': 'all',
  '--delete-data': 'always',
  '--clear-database': 'always',
};

const longNames: Readonly<Record<string, string>> = { '-y': '--yes', '-c': '--delete-data' };

/**
 * Rewrites options whose value is optional so that the value always follows a `=`: otherwise the
 * word after a bare `--yes` would be taken for its value.
 */
export function joinOptionalValues(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  const options = end < 0 ? words : words.slice(0, end);
  return [...options.map(joined), ...words.slice(options.length)];
}

/** A message about options, those that `joinOptionalValues` has rewritten as they were given. */
export function asGiven(message: string): string {
  return message.replace(/(--[a-z-]+)=([a-z]+)/g, (text, name: string, value: string) => {
    return bareValues[name] === value ? name : text;
  });
}

function joined(word: string): string {
  const [, name = '', value] = /^(--?[a-z-]+)(=.*)?$/s.exec(word) ?? [];
  const long = longNames[name] ?? name;
  const bare = bareValues[long];
  if (bare === undefined) return word;
  return `${long}${value ?? `=${bare}`}`;
}
