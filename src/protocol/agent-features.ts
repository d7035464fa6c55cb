/**
 * Optional features of the MCP server beyond its five tools. They are enabled in the address
 * (`?features=`), by the bridge's flag `--features`, or by a limited token.
 */
export const agentFeatures = [
  'preview',
  'explain',
  'logs',
  'backup',
  'watch',
  'ledger',
  'source',
  'typed-reducers',
  'read-only',
  'whoami',
  'fence',
  'answer-schemas',
] as const;

/**
 * What a limited token can name: features of its agent, exports of what it can read, and that each
 * of its writes is applied from a preview.
 */
export const tokenFeatures = [...agentFeatures, 'export', 'write-by-preview'] as const;

export type TokenFeature = (typeof tokenFeatures)[number];

export function isTokenFeature(word: string): word is TokenFeature {
  return (tokenFeatures as readonly string[]).includes(word);
}

export type AgentFeature = (typeof agentFeatures)[number];

export function isAgentFeature(word: string): word is AgentFeature {
  return (agentFeatures as readonly string[]).includes(word);
}
