/**
 * Optional features of the MCP server beyond its five tools. They are enabled in the address
 * (`?features=`), by the bridge's flag `--features`, or by a limited token.
 */
export const agentFeatures = [
  'preview',
  'explain',
  'logs',
  'typed-reducers',
  'read-only',
  'whoami',
  'fence',
] as const;

export type AgentFeature = (typeof agentFeatures)[number];

export function isAgentFeature(word: string): word is AgentFeature {
  return (agentFeatures as readonly string[]).includes(word);
}
