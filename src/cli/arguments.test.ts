import { describe, expect, it } from 'vitest';
import { asGiven, joinOptionalValues } from './arguments.ts';

describe('options with an optional value', () => {
  it.each([
    ['publish -y my-db', 'publish --yes=all my-db'],
    ['publish --yes my-db', 'publish --yes=all my-db'],
    ['publish --yes=remote my-db', 'publish --yes=remote my-db'],
    ['publish -y=remote,migrate', 'publish --yes=remote,migrate'],
    ['publish -c my-db', 'publish --delete-data=always my-db'],
    ['publish --delete-data=never', 'publish --delete-data=never'],
    ['publish --clear-database', 'publish --clear-database=always'],
    ['call db say -- -y', 'call db say -- -y'],
    ['init --template', 'init --template'],
    ['call db add -5', 'call db add -5'],
  ])('[cli 2.1] take it behind = only: %s', (given, joined) => {
    expect(joinOptionalValues(given.split(' ')).join(' ')).toBe(joined);
  });

  it('[cli 2.1] are named as they were given', () => {
    expect(asGiven("error: unknown option '--yes=all'")).toBe("error: unknown option '--yes'");
    expect(asGiven("error: unknown option '--server=all'")).toContain("'--server=all'");
    expect(asGiven("'--yes=remote' is invalid")).toContain("'--yes=remote'");
  });
});
