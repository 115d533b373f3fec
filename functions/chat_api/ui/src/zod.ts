// Imported before everything else: zod, also the one inside of `ai`, otherwise tries `new Function`, which the policy forbids.
import { z } from 'zod';

z.config({ jitless: true });
