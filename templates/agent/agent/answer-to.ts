export interface Fact {
  readonly topic: string;
  readonly text: string;
}

/**
 * The answer to a question, from what is known. This is where a model thinks: give it the question
 * and the facts, and return what it says. Without one, the fact that shares most words with the
 * question is the answer.
 */
export async function answerTo(question: string, facts: readonly Fact[]): Promise<string> {
  const asked = wordsOf(question);
  const scored = facts.map((fact) => {
    const shared = wordsOf(`${fact.topic} ${fact.text}`).filter((word) => asked.includes(word));
    return { fact, score: shared.length };
  });
  const [best] = scored.sort((a, b) => b.score - a.score);
  if (best !== undefined && best.score > 0) return best.fact.text;
  const topics = facts.map(({ topic }) => topic).join(', ');
  return `I do not know. I can tell you about: ${topics}.`;
}

const common = new Set(['does', 'have', 'this', 'that', 'what', 'when', 'with', 'your']);

/** Words of some length, by their beginning, so that "open" finds "opening". */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}{4,}/gu) ?? [];
  const telling = words.filter((word) => !common.has(word));
  return [...new Set(telling.map((word) => word.slice(0, 4)))];
}
