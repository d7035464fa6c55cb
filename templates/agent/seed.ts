import type { Client } from 'reducerdb/client';
import type * as module from './module/src/index.ts';

const facts = {
  'opening hours': 'We open at nine and close at six, on Sundays at noon.',
  delivery: 'Parcels leave the same day and take two days to arrive.',
  returns: 'Send back what you do not like within 30 days, for free.',
};

/** The first rows. `reducerdb dev` runs this once, when the database is empty. */
export default async function seed(client: Client<typeof module>): Promise<void> {
  for (const [topic, text] of Object.entries(facts)) await client.reducers.learn({ topic, text });
  await client.reducers.ask({ text: 'When do you open?' });
  await client.reducers.ask({ text: 'How long does delivery take?' });
}
