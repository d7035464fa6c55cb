import { type GivenWish, ReadWishError, readWishIn } from '../doors/read-wish.ts';
import { badQuery, type Exchange } from './exchange.ts';

/** From which rows a client wants its answer: `?consistency=…&max_age_ms=…`. */
export function wishIn({ query }: Pick<Exchange, 'query'>): GivenWish {
  try {
    return readWishIn(query.string('consistency'), query.string('max_age_ms'));
  } catch (error) {
    if (error instanceof ReadWishError) throw badQuery(error.message);
    throw error;
  }
}
