// The part of the address behind the question mark, of the view that is shown.

import { useCallback } from 'react';
import { useLocation } from 'wouter';

/** Puts another search behind the same path. */
export function useNavigateSearch(): (search: string) => void {
  const [path, navigate] = useLocation();
  return useCallback((search) => navigate(search ? `${path}?${search}` : path, { replace: true }), [path, navigate]);
}
