# cmake -DFILES="from_2.sql;..." -DOUTPUT=migrations.sql -P join_migrations.cmake
# One text of all: each behind a line "-- FROM N" by its name. A version that is left out is an error.
list(SORT FILES COMPARE NATURAL)
set(next 2)
set(all "")
foreach(file ${FILES})
  if(NOT file MATCHES "from_${next}\\.sql$")
    message(FATAL_ERROR "${file}: the next migration is from_${next}.sql")
  endif()
  file(READ ${file} text)
  string(APPEND all "-- FROM ${next}\n${text}\n")
  math(EXPR next "${next} + 1")
endforeach()
file(WRITE ${OUTPUT} "${all}")
