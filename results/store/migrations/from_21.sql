-- Views: a block's time by totals where trials held unequal numbers of runs too. What was concluded is concluded anew: of copies that do the same work
-- and ran again within a trial unequally often, a unit's energy and time were a start's, of all copies.
DELETE FROM conclusion;
